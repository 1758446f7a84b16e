// Package follow keeps the attached plugins of a running scheduler as the objects of the API say,
// and says in the status of each object what became of it.
package follow
