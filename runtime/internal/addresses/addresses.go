// Package addresses knows which addresses a host must not connect to, or only if a user named them.
package addresses

import (
	"net/netip"
	"slices"
)

// Ranges are addresses that need care.
type Ranges struct {
	nat64   netip.Prefix   // where IPv6 translates IPv4 addresses (RFC 6052)
	special []netip.Prefix // beside those that package netip knows (RFC 6890)
}

// NewRanges returns the ranges.
func NewRanges() *Ranges {
	r := &Ranges{nat64: netip.MustParsePrefix("64:ff9b::/96")}
	for _, special := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", // this network, carriers, protocols, benchmarks, future
		"64:ff9b:1::/48", "2001::/23", "2002::/16", "fec0::/10", // translation, protocols, 6to4, site-local
	} {
		r.special = append(r.special, netip.MustParsePrefix(special))
	}
	return r
}

// Plain returns an IPv4 address also where IPv6 maps or translates it.
func (r *Ranges) Plain(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if r.nat64.Contains(ip) {
		b := ip.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return ip
}

// Never reports whether nobody means an address: it is link-local, as most metadata services of clouds are, or another of these, or
// not that of one machine.
func (r *Ranges) Never(ip netip.Addr) bool {
	ip = r.Plain(ip)
	return ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() || isMetadata(ip)
}

// Internal reports whether an address is private, special or this machine's.
func (r *Ranges) Internal(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() ||
		isMetadata(ip) || r.nat64.Contains(ip) ||
		slices.ContainsFunc(r.special, func(special netip.Prefix) bool { return special.Contains(ip) })
}

// isMetadata reports whether the address is a cloud metadata service that is not link-local:
// AWS over IPv6, Alibaba, Oracle and Azure.
func isMetadata(ip netip.Addr) bool {
	switch ip.String() {
	case "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16":
		return true
	}
	return false
}
