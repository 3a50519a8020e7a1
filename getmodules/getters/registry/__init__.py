"""The getter for module registries, by Terraform's registry protocol."""
