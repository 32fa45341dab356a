package sqlstore

import "strings"

// The statements for one run.
const (
	insertRun = `INSERT INTO mcpchain_runs (tenant, id, agent, status, updated, due, seq, snapshot, head, answers, epoch, held, ttl, holder)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	updateRun = `UPDATE mcpchain_runs SET agent = ?, status = ?, updated = ?, due = ?, seq = ?, snapshot = ?, head = ?, answers = 0
		WHERE tenant = ? AND id = ? AND epoch = ? AND seq = ?`
	updateReplies = `UPDATE mcpchain_runs SET answers = ?, due = ? WHERE tenant = ? AND id = ?`

	selectHead      = `SELECT epoch, held, ttl, answers, head FROM mcpchain_runs WHERE tenant = ? AND id = ?`
	selectReplies   = `SELECT a.ask, a.sum, a.data` + ofReplies
	selectQuestions = `SELECT a.ask` + ofReplies
	ofReplies       = ` FROM mcpchain_runs r JOIN mcpchain_answers a ON a.run = r.num WHERE r.tenant = ? AND r.id = ?`

	// selectLog reads a run in one statement, and so at one moment. selectCurrent leaves out
	// the records before the last snapshot. The first column of a row is headPart, recordPart or replyPart;
	// the others are those of a head. In them, a record has its number and checksum as epoch and held, and a
	// reply its checksum as held.
	selectLog     = selectRecords + andReplies
	selectCurrent = selectRecords + sinceSnapshot + andReplies

	selectRecords = `SELECT 0, epoch, held, ttl, answers, head FROM mcpchain_runs WHERE tenant = ? AND id = ?
		UNION ALL SELECT 1, c.seq, c.sum, 0, 0, c.data
		FROM mcpchain_runs r JOIN mcpchain_records c ON c.run = r.num WHERE r.tenant = ? AND r.id = ?`
	sinceSnapshot = ` AND c.seq BETWEEN r.snapshot AND r.seq` // a range, so that Postgres uses the index
	andReplies    = ` UNION ALL SELECT 2, 0, a.sum, 0, 0, a.data` + ofReplies

	acquireRun = `UPDATE mcpchain_runs SET epoch = CASE WHEN epoch < ? THEN ? ELSE epoch + 1 END, held = ?, ttl = ?, holder = ?
		WHERE tenant = ? AND id = ? AND (held <= ? OR ttl > 0 AND held - ttl > ?) RETURNING epoch, seq, head`
	selectNum    = `SELECT num FROM mcpchain_runs WHERE tenant = ? AND id = ?`
	selectHolder = `SELECT holder, held FROM mcpchain_runs WHERE tenant = ? AND id = ?`
	releaseRun   = `UPDATE mcpchain_runs SET held = 0, ttl = 0 WHERE tenant = ? AND id = ? AND epoch = ?`

	// renewRuns is completed with rows and its end.
	renewRuns = `UPDATE mcpchain_runs SET held = ?, ttl = ? WHERE (tenant, id, epoch) IN (VALUES ` + heldRow
	heldRow   = `(?, ?, CAST(? AS bigint))`

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

// The statements that insert rows of one run, see [rowsOf].
const (
	insertRecords = `INSERT INTO mcpchain_records (run, seq, sum, data) VALUES `
	insertReplies = `INSERT INTO mcpchain_answers (run, ask, sum, data) VALUES `
)

const (
	fewRows  = 8    // records that one statement appends
	manyRows = 1000 // databases bound the parameters of a statement
)

// rowsOf returns the INSERT of n rows of the run whose tenant and id precede them.
func rowsOf(insert string, n int) string {
	const row = "((SELECT num FROM r), ?, ?, ?)"
	return `WITH r AS (` + selectNum + `) ` + insert + row + strings.Repeat(", "+row, n-1)
}

// appendRecords returns the statement that updates a run and, if that succeeds, inserts n records.
func appendRecords(n int) string {
	const row = "(CAST(? AS bigint), CAST(? AS bigint), CAST(? AS bytea))"
	return `WITH r AS (` + updateRun + ` RETURNING num) INSERT INTO mcpchain_records (run, seq, sum, data)
		SELECT r.num, c.seq, c.sum, c.data FROM r, (VALUES ` + row + strings.Repeat(", "+row, n-1) + `) AS c (seq, sum, data)`
}
