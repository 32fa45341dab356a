package tokens

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// OnHangup calls again at each SIGHUP, until stop is called. again may be nil if there is no file.
func OnHangup(logger *slog.Logger, again func() (int, error)) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			if again == nil {
				logger.Info("SIGHUP: there is no file of users to read again")
			} else if n, err := again(); err != nil {
				logger.Error("the users stay as they were", "error", err)
			} else {
				logger.Info("the users are read again", "users", n)
			}
		}
	}()
	return func() { signal.Stop(hangups); close(hangups) }
}
