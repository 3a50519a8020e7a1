variable "name" {
  description = "What the network is called."
  type        = string
}

variable "cidr" {
  description = "The addresses of the whole network."
  type        = string
  default     = "10.20.0.0/16"
}

variable "zones" {
  description = "How many zones get a subnet of their own."
  type        = number
  default     = 3
}
