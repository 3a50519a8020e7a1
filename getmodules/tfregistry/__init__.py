"""The protocol of Terraform's registries: service discovery, tokens, and the modules of a host."""
