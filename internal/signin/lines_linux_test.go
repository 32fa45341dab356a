package signin

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// TestSecret: a terminal shows no secret, and shows what is typed after a cancelled question, and after two at once.
func TestSecret(t *testing.T) {
	person := check.Value(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	defer person.Close()
	check.Must(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number := check.Value(unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN))(t)
	tty := check.Value(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	defer tty.Close()
	shows := func() bool {
		return check.Value(unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS))(t).Lflag&unix.ECHO != 0
	}
	hidden := func(then func()) {
		for shows() {
			time.Sleep(time.Millisecond)
		}
		then()
	}
	typed := func(text string) { check.Must(t, check.Err(io.WriteString(person, text))) }
	you := &Lines{In: tty, Out: io.Discard}
	key := &config.Input{ID: "key", Password: true}
	go hidden(func() { typed("secret\n") })
	check.Equal(t, "the secret", check.Value(you.Input(t.Context(), key))(t), "secret")

	ctx, cancel := context.WithCancel(t.Context())
	go hidden(cancel)
	check.Is(t, check.Err(you.Input(ctx, key)), context.Canceled, "the end of the question")
	check.Equal(t, "the terminal shows what is typed", shows(), true)
	typed("line\n")
	check.Equal(t, "the line", check.Value(you.Ask(t.Context(), "next: "))(t), "line")

	var questions sync.WaitGroup
	for range 2 { // the second comes while the first hides what is typed
		questions.Go(func() { check.NoError(t, check.Err(you.Input(t.Context(), key))) })
		hidden(func() { time.Sleep(10 * time.Millisecond) })
	}
	typed("secret\n")
	hidden(func() { typed("secret\n") })
	questions.Wait()
	check.Equal(t, "the terminal shows what is typed", shows(), true)
}
