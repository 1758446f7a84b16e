package plain

import (
	"cmp"
	"net/url"
)

// URL returns a URL as it may be shown: scheme, host and path. A user, a password, and a query can be secrets; for a query it writes
// ?…, and for a text that is no URL the same.
func URL(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "?" + Mark
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if cmp.Or(u.RawQuery, u.Fragment) != "" {
		return shown.String() + "?" + Mark
	}
	return shown.String()
}
