package adapter

import (
	"log/slog"

	"github.com/mcpchain/mcpchain/internal/bound"
)

// runGuarded calls a function of the host. A panic becomes an error, and its stack is logged.
func runGuarded(log *slog.Logger, what string, fn func() error) error {
	err := bound.Run(what, fn)
	if p, ok := err.(*bound.PanicError); ok {
		log.Error(p.Error(), "stack", string(p.Stack))
	}
	return err
}
