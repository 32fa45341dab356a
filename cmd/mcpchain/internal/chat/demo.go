package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpchain/mcpchain/internal/tryout"
)

// serveDemo runs one of the demos for other programs.
func serveDemo(o *options) error {
	if o.demoModel {
		return serveDemoModel()
	}
	if err := tryout.RunServer(context.Background()); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("demo server: %w", err)
	}
	return nil
}

// serveDemoModel serves until a signal ends it. First it prints a command for
// another shell.
func serveDemoModel() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	model, err := tryout.StartModel()
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "The demo model runs until Ctrl-C. Programs find it by these variables:")
	fmt.Printf("export OPENAI_BASE_URL=%s OPENAI_MODEL=%s OPENAI_API_KEY=none\n", model.BaseURL, tryout.ModelName)
	<-ctx.Done()
	return model.Close()
}
