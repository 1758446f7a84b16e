//go:build race

package schema

// mostAtCheck is the most that a check may allocate, in bytes. Package regexp keeps its memory in a
// sync.Pool, and the race detector has these lose a part of what they hold.
const mostAtCheck = 8 << 30
