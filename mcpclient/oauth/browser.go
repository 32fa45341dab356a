package oauth

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
)

// OpenBrowser opens a URL, https or on this machine, in the person's browser. It runs the system's
// own opener, without a shell, and does not wait for its end, so a failure of the opener is not
// reported. The error matches [ErrUntrusted] for any other URL.
func OpenBrowser(ctx context.Context, rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil || !isConfidential(u) {
		return untrustedError("%s is not a URL that a browser should open", safeURL(rawURL))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	name, args := browserCommand(runtime.GOOS, u.String())
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	go func() { _ = cmd.Wait() }() // an opener may run as long as the browser
	return nil
}

func browserCommand(system, url string) (name string, args []string) {
	switch system {
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler", url}
	case "darwin":
		return "open", []string{url}
	}
	return "xdg-open", []string{url}
}
