// Package schemacheck provides a [mcpclient.Validator] with a JSON Schema compiler.
//
//	check := new(schemacheck.Validator)
//	client, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{
//		Validator: check,
//	})
//
// It knows the dialects 2020-12 (the default), 2019-09, draft-07, draft-06 and draft-04, and
// refuses other dialects by name. It follows only references inside the schema and never fetches
// one: a schema with another reference is refused. Formats such as "email" are annotations, as
// 2020-12 demands: they are not checked.
//
// [mcpclient.Options.Validator] says what is checked.
//
// # Bounds
//
//	one schema                  1 MiB, 10,000 subschemas, a depth of 64
//	a pattern                   about 10,000 instructions of package regexp
//	… all patterns of a schema  250,000
//	an $id                      1 KiB
//	the check of one value      about 130,000 steps; beyond them it cannot decide
//	compiled schemas            4,096, 64 MiB together; the least recently used are dropped
package schemacheck

import (
	"encoding/json"
	"errors"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Validator compiles each schema once. The zero value is ready, and may be shared by
// any number of clients.
type Validator struct{ compiled schema.Cache }

// Compile reads a schema; the error says why it cannot be used. check may be called concurrently.
// Its error is a [*mcpclient.SchemaViolation] if the value does not fit, and another error if that
// cannot be decided.
func (v *Validator) Compile(raw json.RawMessage) (check func(value json.RawMessage) error, err error) {
	s, err := v.compiled.Compile(raw)
	if err != nil {
		return nil, err
	}
	return func(value json.RawMessage) error {
		err := s.Validate(value)
		if bad, ok := errors.AsType[*schema.Violation](err); ok {
			return &mcpclient.SchemaViolation{Path: bad.Path, Message: bad.Message}
		}
		return err
	}, nil
}
