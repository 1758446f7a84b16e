// Package fault says what went wrong in a guest, and what that means for a pod. It knows
// neither how guests run nor who calls them.
package fault
