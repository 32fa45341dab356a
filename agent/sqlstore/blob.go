package sqlstore

import (
	"context"
	"database/sql"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

const (
	selectHeld = `SELECT num FROM mcpchain_runs WHERE tenant = ? AND id = ? AND epoch = ?`

	// sumBlobs returns the size of the other blobs of a run and of a tenant.
	sumBlobs = `SELECT CAST(coalesce(sum(CASE WHEN run = ? THEN size ELSE 0 END), 0) AS bigint), CAST(coalesce(sum(size), 0) AS bigint)
		FROM mcpchain_blobs WHERE tenant = ? AND NOT (run = ? AND name = ?)`
	putBlob = `INSERT INTO mcpchain_blobs (run, tenant, name, size, sum, data) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (run, name) DO UPDATE SET size = excluded.size, sum = excluded.sum, data = excluded.data`
	selectBlob  = `SELECT b.sum, b.data` + ofBlobs + ` AND b.name = ?`
	selectBlobs = `SELECT b.name` + ofBlobs + ` ORDER BY b.name`
	ofBlobs     = ` FROM mcpchain_runs r JOIN mcpchain_blobs b ON b.run = r.num WHERE r.tenant = ? AND r.id = ?`
	deleteBlobs = `DELETE FROM mcpchain_blobs WHERE run = ?`
)

func (s *database) PutBlob(ctx context.Context, lease record.Lease, name string, data []byte) error {
	if err := record.CheckBlob(lease.Key, name, int64(len(data)), 0, 0); err != nil {
		return err
	}
	if data == nil {
		data = []byte{} // not NULL
	}
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		var num, runSize, tenantSize int64
		tenant := lease.Key.Tenant
		err := t.one(ctx, record.ErrConflict, selectHeld+t.d.lockRows, heldBy(lease), &num)
		if err == nil {
			err = one(ctx, t, sumBlobs, []any{num, tenant, num, name}, &runSize, &tenantSize)
		}
		if err != nil {
			return err
		}
		if err := record.CheckBlob(lease.Key, name, int64(len(data)), runSize, tenantSize); err != nil {
			return refuse(err)
		}
		_, err = t.exec(ctx, putBlob, num, tenant, name, len(data), sum(data), data)
		return err
	})
	return subject.Wrap(err, "keep blob %.100q of run %q", name, lease.Key.ID)
}

func (s *database) Blob(ctx context.Context, key run.Key, name string) (data []byte, err error) {
	var sum int64
	err = sql.ErrNoRows
	if record.CheckBlob(key, name, 0, 0, 0) == nil { // otherwise no blob can have the name
		err = s.withReader(ctx, func(q querier) error {
			return one(ctx, q, s.d.statement(selectBlob), append(columnsOf(key), name), &sum, &data)
		})
	}
	switch {
	case isNone(err):
		err = record.ErrNotFound
	case err == nil:
		err = checkSum(data, sum)
	}
	return subject.Result(data, err, "load blob %.100q of run %q", name, key.ID)
}

func (s *database) Blobs(ctx context.Context, key run.Key) (all []string, err error) {
	err = s.withReader(ctx, func(q querier) error {
		return each(ctx, q, s.d.statement(selectBlobs), columnsOf(key), func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			all = append(all, name)
			return err
		})
	})
	return subject.Result(all, err, "list the blobs of run %q", key.ID)
}
