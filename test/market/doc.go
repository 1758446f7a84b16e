// Package market tests the market against programs of other projects: the pages in a real
// browser, the story of docs/market.md against another registry, and bills of materials with
// CycloneDX's own library. Berth's console is tested in the same browser. It is a module of its own, so that what these depend on stays out
// of Berth's.
package market
