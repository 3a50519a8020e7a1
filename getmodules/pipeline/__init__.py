"""The way of a package from its address to its destination, and many packages side by side."""
