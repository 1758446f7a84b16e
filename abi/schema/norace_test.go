//go:build !race

package schema

// mostAtCheck is the most that a check may allocate, in bytes.
const mostAtCheck = 64 << 20
