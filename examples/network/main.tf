# A network cut into one subnet for each zone. It needs no provider, so that it plans anywhere.

module "subnets" {
  source = "./modules/subnets"

  cidr  = var.cidr
  zones = var.zones
}

output "network" {
  description = "The name, the addresses and the subnets."
  value = {
    name    = var.name
    cidr    = var.cidr
    subnets = module.subnets.cidrs
  }
}
