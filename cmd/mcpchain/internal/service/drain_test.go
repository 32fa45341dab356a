package service

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// TestGrace stops a process with a call under way, which ends within the grace or is cut. The log
// says what becomes of runs.
func TestGrace(t *testing.T) {
	for name, tt := range map[string]struct {
		grace    string
		outcomes int
	}{
		"long enough": {"1m", 1},
		"too short":   {"1ms", 0},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "runs.db")
			process, url := launch(t, file, time.Hour, "-grace", tt.grace)
			p := person{t, url, "demo-ada"}
			stopped, _ := p.counting()
			if code, _ := p.do("DELETE", "/runs/"+stopped, "", nil); code != http.StatusAccepted {
				t.Errorf("got %d, want 202", code)
			}
			p.settled(p.run("Book a table for 4 at Luigi"))
			id, _ := p.counting()
			check.NoError(t, process.end(t, syscall.SIGTERM))
			log := process.log.String()
			for _, want := range []string{
				`level=WARN msg="the model is a demo`, `msg="a server can be used" server=demo`, `msg="the service drives runs" due=0 waiting=0`,
				`msg="the service stops, and its runs continue later" runs=1 "calls under way"=1`,
			} {
				check.Contains(t, "the log", log, want)
			}
			cut := strings.Contains(log, `level=WARN msg="calls under way are interrupted, and in doubt" run=`)
			check.Equal(t, "a warning of calls that are cut", cut, tt.outcomes == 0)
			db, err := database.Open(t.Context(), file)
			check.Must(t, err)
			defer db.Close()
			kept, err := db.Runs.Load(t.Context(), p.key(id))
			check.Must(t, err)
			outcomes := 0
			for _, r := range kept.Records {
				if _, ok := ledger.ChangeOf(r).(*ledger.Outcome); ok {
					outcomes++
				}
			}
			check.Equal(t, "results of the call", outcomes, tt.outcomes)
		})
	}
}
