package mcpchain

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// TestSecretThatEnds: the terminal shows again what is typed after a cancelled question for a secret.
func TestSecretThatEnds(t *testing.T) {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	check.Must(t, err)
	defer person.Close()
	check.Must(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	check.Must(t, err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	check.Must(t, err)
	defer tty.Close()
	shows := func() bool {
		mode, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
		check.Must(t, err)
		return mode.Lflag&unix.ECHO != 0
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for shows() {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	you := &Terminal{In: tty, Out: io.Discard}
	check.Is(t, check.Err(you.askInput(ctx, &config.Input{ID: "key", Password: true})), context.Canceled, "the end of the question")
	check.Equal(t, "the terminal shows what is typed", shows(), true)
	_, err = io.WriteString(person, "line\n")
	check.Must(t, err)
	line, err := you.ReadLine(t.Context(), "next:")
	check.NoError(t, err)
	check.Equal(t, "the line", line, "line")
}
