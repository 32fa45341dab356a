package rig

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
)

// Main runs a comparison until it ends or is interrupted, and ends the process. Results go to out, other texts to notes.
func Main(name string, compare func(ctx context.Context, args []string, out, notes io.Writer) error) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // mcp-go logs the end of every pipe
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := compare(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}
