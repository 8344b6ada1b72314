//go:build !before

package locks

// past is this package as it was at a commit: only in the build that -before makes.
func past() []library { return nil }
