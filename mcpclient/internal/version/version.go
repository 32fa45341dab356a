// Package version returns the version of this module in the running program.
package version

import (
	"runtime/debug"
	"sync"
)

// Module returns that version, "(devel)" if it is not known. It reads the build information once,
// because that takes long.
var Module = sync.OnceValue(func() string {
	const path = "github.com/mcpchain/mcpchain"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	if info.Main.Path == path && info.Main.Version != "" {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "(devel)"
})
