package sqlstore

import (
	"context"
	"database/sql"
	"strings"
)

// The statements for one run.
const (
	insertRun = `INSERT INTO mcpchain_runs (tenant, id, agent, status, updated, due, seq, snapshot, head, answers, epoch, held, ttl, holder)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	updateRun = `UPDATE mcpchain_runs SET agent = ?, status = ?, updated = ?, due = ?, seq = ?, snapshot = ?, head = ?, answers = 0
		WHERE tenant = ? AND id = ? AND epoch = ? AND seq = ?`
	updateReplies = `UPDATE mcpchain_runs SET answers = ?, due = ? WHERE tenant = ? AND id = ?`

	selectHead      = `SELECT epoch, held, ttl, answers, head FROM mcpchain_runs WHERE tenant = ? AND id = ?`
	selectReplies   = `SELECT a.ask, a.sum, a.data FROM mcpchain_runs r JOIN mcpchain_answers a ON a.run = r.num WHERE r.tenant = ? AND r.id = ?`
	selectQuestions = `SELECT a.ask FROM mcpchain_runs r JOIN mcpchain_answers a ON a.run = r.num WHERE r.tenant = ? AND r.id = ?`

	// selectLog reads a run in one statement, and so at one moment. selectCurrent leaves out
	// the records before the last snapshot. The first column of a row is headPart, recordPart or replyPart.
	selectLog     = selectCurrentTo + selectRepliesToo
	selectCurrent = selectCurrentTo + ` AND c.seq BETWEEN r.snapshot AND r.seq` + selectRepliesToo // as a range, so that Postgres uses the index

	selectCurrentTo = `SELECT 0, epoch, held, ttl, answers, head FROM mcpchain_runs WHERE tenant = ? AND id = ?
		UNION ALL SELECT 1, c.seq, c.sum, 0, 0, c.data FROM mcpchain_runs r JOIN mcpchain_records c ON c.run = r.num WHERE r.tenant = ? AND r.id = ?`
	selectRepliesToo = `
		UNION ALL SELECT 2, 0, a.sum, 0, 0, a.data FROM mcpchain_runs r JOIN mcpchain_answers a ON a.run = r.num WHERE r.tenant = ? AND r.id = ?`

	acquireRun = `UPDATE mcpchain_runs SET epoch = CASE WHEN epoch < ? THEN ? ELSE epoch + 1 END, held = ?, ttl = ?, holder = ?
		WHERE tenant = ? AND id = ? AND (held <= ? OR ttl > 0 AND held - ttl > ?) RETURNING epoch, seq, head`
	selectNum    = `SELECT num FROM mcpchain_runs WHERE tenant = ? AND id = ?`
	selectHolder = `SELECT holder, held FROM mcpchain_runs WHERE tenant = ? AND id = ?`
	updateHeld   = `UPDATE mcpchain_runs SET held = ?, ttl = ? WHERE tenant = ? AND id = ? AND epoch = ?`

	// updateManyHeld is completed with rows and its end.
	updateManyHeld = `UPDATE mcpchain_runs SET held = ?, ttl = ? WHERE (tenant, id, epoch) IN (VALUES ` + heldRow
	heldRow        = `(?, ?, CAST(? AS bigint))`

	deleteRun     = `DELETE FROM mcpchain_runs WHERE tenant = ? AND id = ? RETURNING num, epoch`
	deleteRecords = `DELETE FROM mcpchain_records WHERE run = ?`
	deleteReplies = `DELETE FROM mcpchain_answers WHERE run = ?`
)

// The parts of a log, as selectLog numbers them.
const (
	headPart   = 0
	recordPart = 1
	replyPart  = 2
)

// The statements that insert rows of one run.
var (
	insertRecords = newInsertion(`INSERT INTO mcpchain_records (run, seq, sum, data) VALUES `)
	insertReplies = newInsertion(`INSERT INTO mcpchain_answers (run, ask, sum, data) VALUES `)
)

// appendRecords has a statement for each number of records from one to fewRows. It updates the run
// and, if that succeeds, inserts the records.
var appendRecords = func() (texts [fewRows]string) {
	const row = "(CAST(? AS bigint), CAST(? AS bigint), CAST(? AS bytea))"
	for n := range texts {
		texts[n] = `WITH r AS (` + updateRun + ` RETURNING num) INSERT INTO mcpchain_records (run, seq, sum, data)
			SELECT r.num, c.seq, c.sum, c.data FROM r, (VALUES ` + row + strings.Repeat(", "+row, n) + `) AS c (seq, sum, data)`
	}
	return texts
}()

const (
	fewRows  = 8    // rows of an INSERT that is compiled
	manyRows = 1000 // databases bound the parameters of a statement
)

// insertion is an INSERT of any number of rows of the run whose tenant and id precede them.
type insertion struct {
	into string
	few  [fewRows]string // for one row to fewRows
}

// newInsertion returns the insertion that begins with into.
func newInsertion(into string) *insertion {
	i := &insertion{into: into}
	for n := range i.few {
		i.few[n] = i.text(n + 1)
	}
	return i
}

// rows returns the statement for n rows.
func (i *insertion) rows(n int) string {
	if n <= fewRows {
		return i.few[n-1]
	}
	return i.text(n)
}

// text makes the statement for n rows.
func (i *insertion) text(n int) string {
	const row = "((SELECT num FROM r), ?, ?, ?)"
	return `WITH r AS (` + selectNum + `) ` + i.into + row + strings.Repeat(", "+row, n-1)
}

// compiled holds the statements that SQLite compiles once for each connection, by their texts,
// because compiling takes longer than running. database/sql closes them with their connection.
type compiled map[string]*sql.Stmt

// compile compiles the statements, unless the driver does that.
func (s *database) compile(ctx context.Context) error {
	if s.d.remote {
		return nil
	}
	s.compiled = compiled{}
	for _, text := range append([]string{
		lockSchema, insertRun, updateRun, updateReplies, insertReplies.few[0], selectHead, selectReplies, selectQuestions,
		selectLog, selectCurrent, acquireRun, selectHolder, updateHeld, deleteRun, deleteRecords, deleteReplies, deleteBlobs,
	}, insertRecords.few[:]...) {
		err := whileLocked(ctx, func() (err error) {
			s.compiled[text], err = s.db.PrepareContext(ctx, text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
