variable "a" { default = 1 }
x =
