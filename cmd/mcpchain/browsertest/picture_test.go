package browsertest_test

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mcpchain/mcpchain/internal/check"
)

var update = flag.Bool("update", false, "take the picture of the page again")

// TestPicture plays the scene of the picture in the guide: a tool was called, a person is asked for
// a call and for a form. With -update it takes the picture; it also looks at the picture that is there.
func TestPicture(t *testing.T) {
	ada := enter(t)
	ada.do(chromedp.EmulateViewport(1100, 760))
	ada.ask("What is 17 plus 25? And book a table for 4 at Luigi.", ".call.done summary", "add")
	ada.click(".card button", "Allow", ".card h3", "demo asks you")
	ada.await("document.activeElement.blur() === undefined")
	path := filepath.Join("..", "..", "..", "docs", "page.png")
	if *update {
		check.Must(t, os.WriteFile(path, value(ada, chromedp.CaptureScreenshot()), 0o644))
	}
	data, err := os.ReadFile(path)
	check.Must(t, err)
	picture, err := png.DecodeConfig(bytes.NewReader(data))
	check.Must(t, err)
	check.That(t, picture.Width == 1100 && picture.Height == 760 && len(data) <= 200<<10,
		"got a picture of %d by %d in %d bytes, want 1100 by 760 in 200 KiB at most", picture.Width, picture.Height, len(data))
}
