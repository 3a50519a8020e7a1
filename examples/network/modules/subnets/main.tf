variable "cidr" {
  description = "The addresses to cut up."
  type        = string
}

variable "zones" {
  description = "How many pieces are wanted."
  type        = number
}

output "cidrs" {
  description = "One range for each zone."
  value       = [for zone in range(var.zones) : cidrsubnet(var.cidr, 4, zone)]
}
