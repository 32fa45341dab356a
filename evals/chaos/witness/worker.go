package witness

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
)

// workerVariable is the environment variable with the settings of a worker process, as JSON.
const workerVariable = "CHAOS_WORKER"

// Worker returns a command that runs this program again, as a worker with these settings, which are
// passed as JSON. It is killed at the end of the context.
func Worker(ctx context.Context, settings any) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), workerVariable+"="+string(data))
	return cmd, nil
}

// Settings reports whether this process is one of [Worker], and decodes its settings.
func Settings(settings any) (worker bool, err error) {
	data := os.Getenv(workerVariable)
	if data == "" {
		return false, nil
	}
	return true, json.Unmarshal([]byte(data), settings)
}
