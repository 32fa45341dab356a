package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

const (
	workerRole       = "worker"
	settingsVariable = "CHAOS_SETTINGS" // the settings of a worker, as JSON
)

// Main is the TestMain of a package whose tests start workers, see [Worker]. work does the work of one.
func Main[Settings any](m *testing.M, work func(context.Context, *Settings) error) {
	testenv.Main(m, map[string]func() int{workerRole: func() int {
		var s Settings
		err := json.Unmarshal([]byte(os.Getenv(settingsVariable)), &s)
		if err == nil {
			err = work(context.Background(), &s)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}})
}

// Worker returns a command that runs this program as a worker with these settings. It is killed at the end of the test.
func Worker(t *testing.T, settings any) *exec.Cmd {
	t.Helper()
	data := check.Value(json.Marshal(settings))(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), testenv.Role(workerRole), settingsVariable+"="+string(data))
	return cmd
}
