// Package retry has what jobs need that try until they succeed: pauses that grow, pauses that end with a context, and
// contexts that give work under way a little longer.
package retry
