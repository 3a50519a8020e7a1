"""The public vocabulary: the values of the flow, the ports of plugins, their hooks, and limits."""
