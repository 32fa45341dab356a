//go:build !linux

package child

import "os"

// awaitExit leaves the wait for the end of the process to Wait, which holds a
// thread meanwhile.
func awaitExit(*os.Process) {}
