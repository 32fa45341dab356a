package record_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// An append to a head without a key is one, and does not create a run.
func TestCheckRecordsOfNoRun(t *testing.T) {
	d := ledgertest.New(run.Key{ID: "one"})
	err := record.CheckRecords(&run.Head{}, record.Lease{}, d.Head(), d.Records)
	check.Text(t, err, `append to run "": the lease and the head are of runs "" and "one"`)
	check.Must(t, record.CheckRecords(nil, record.Lease{}, d.Head(), d.Records))
}
