package xlsx

// MostUnpacked is the limit of the bytes of all parts.
var MostUnpacked = &mostUnpacked
