package hosting

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
)

// DecodeJSON decodes the only JSON value of a body. Objects must not have unknown members.
func DecodeJSON(body io.Reader, v any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields() // for example a state
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return cmp.Or(err, errors.New("there is more than one value"))
	}
	return nil
}
