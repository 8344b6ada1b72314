package telemetry

import "runtime/debug"

// Build describes the source that this binary was built from.
type Build struct {
	Version  string // the module's version; "(devel)" if built from a working tree
	Revision string // the source's commit, with "+dirty" if it was modified; "unknown" if not recorded
	Go       string // version of the Go toolchain
}

// ReadBuild returns the build information that the toolchain recorded in this binary.
func ReadBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Version: "unknown", Revision: "unknown", Go: "unknown"}
	}
	return buildFrom(info)
}

func buildFrom(info *debug.BuildInfo) Build {
	b := Build{Version: info.Main.Version, Revision: "unknown", Go: info.GoVersion}
	dirty := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty {
		b.Revision += "+dirty"
	}
	return b
}
