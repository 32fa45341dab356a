package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// content is the content of a file of servers and of the environment files that it names. They are read once, so that
// the servers are started with what the person has allowed.
type content struct {
	file       []byte
	envFiles   map[string][]byte // by path
	unreadable map[string]error  // why other environment files could not be read, by path
}

// readContent reads the environment files that a file names. If one cannot be read, its server cannot be used.
func readContent(ctx context.Context, path string, file []byte) (*content, error) {
	c := &content{file, map[string][]byte{}, map[string]error{}}
	l := config.Loader{
		Filters: true, SignIn: true,
		Input: func(context.Context, *config.Input) (string, error) { return "x", nil }, // the person is asked for inputs later
		EnvFile: func(path string) ([]byte, error) {
			data, err := readFile(path)
			if err != nil {
				c.unreadable[path] = err
				return nil, err
			}
			c.envFiles[path] = data
			return data, nil
		},
	}
	if _, err := l.LoadData(ctx, path, file); err != nil {
		return nil, &cli.FileError{Err: err}
	}
	return c, nil
}

// envFile returns the content of an environment file.
func (c *content) envFile(path string) ([]byte, error) {
	if data, ok := c.envFiles[path]; ok {
		return data, nil
	}
	if err := c.unreadable[path]; err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s: %w", path, errNotRead)
}

// errNotRead means that an environment file was not named when the content was read.
var errNotRead = errors.New("it was not read with the file that names it")

// fingerprint returns a hash of the content.
func (c *content) fingerprint() string {
	if len(c.envFiles) == 0 {
		return fingerprint(c.file)
	}
	sum := sha256.New()
	part := func(data []byte) { fmt.Fprintf(sum, "%d:%s", len(data), data) }
	part(c.file)
	for _, path := range slices.Sorted(maps.Keys(c.envFiles)) {
		part([]byte(path))
		part(c.envFiles[path])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func fingerprint(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
