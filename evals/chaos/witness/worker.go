package witness

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Main is the function main of a program whose workers are the program again, see [Worker]. settings are those of a
// worker, whose work is work. Otherwise the program declares its flags, and plays. It ends with the status 1 after an
// error, or if it is not clean.
func Main(
	settings any, work func(context.Context) error, declare func(), play func(context.Context) (clean bool, err error),
) {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	worker, err := Settings(settings)
	clean := true
	switch {
	case err != nil:
	case worker:
		err = work(ctx)
	default:
		declare()
		if flag.Parse(); flag.NArg() > 0 {
			log.Fatalf("there are only flags, and no argument %q", flag.Arg(0))
		}
		clean, err = play(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	if !clean {
		os.Exit(1)
	}
}

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
