package tokens

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// OnHangup calls reload at each SIGHUP, until stop is called, and logs its outcome. reload is nil
// if there is no file. stop waits for a call in progress.
func OnHangup(logger *slog.Logger, reload func() (int, error)) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	var work sync.WaitGroup
	work.Go(func() {
		for range hangups {
			if reload == nil {
				logger.Info("SIGHUP: there is no file of users to read again")
			} else if n, err := reload(); err != nil {
				logger.Error("the users stay as they were", "error", err)
			} else {
				logger.Info("the users are read again", "users", n)
			}
		}
	})
	return func() {
		signal.Stop(hangups)
		close(hangups)
		work.Wait()
	}
}
