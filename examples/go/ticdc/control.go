// Package ticdc drives ticdc-emit serve from tests.
package ticdc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Partition is a topic-partition and the offset after its last message.
type Partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	EndOffset int64  `json:"end_offset"`
}

// Sent is what a call has sent.
type Sent struct {
	CommitTs   int64       `json:"commit_ts"`
	Rows       int         `json:"rows"`
	Messages   int         `json:"messages"`
	Partitions []Partition `json:"partitions"`
}

// Tables holds the rows that TiDB has, by schema.table.
type Tables map[string][]map[string]*string

// Control is a client of the control API.
type Control struct {
	URL   string
	Token string // only for a server that does not listen at loopback
}

func (c *Control) SQL(script string) (Sent, error) {
	return c.send("/sql", map[string]any{"sql": script})
}
func (c *Control) Redeliver(last int) (Sent, error) {
	return c.send("/redeliver", map[string]any{"last": last})
}
func (c *Control) Restart(transactions int) (Sent, error) {
	return c.send("/restart", map[string]any{"transactions": transactions})
}
func (c *Control) Release() (Sent, error) { return c.send("/release", map[string]any{}) }
func (c *Control) Reset() (Sent, error)   { return c.send("/reset", map[string]any{}) }

func (c *Control) Hold(topic string, partition int32) error {
	return c.call(http.MethodPost, "/hold", map[string]any{"topic": topic, "partition": partition}, &struct{}{})
}

func (c *Control) Tables() (Tables, error) {
	var answer struct {
		Tables Tables `json:"tables"`
	}
	err := c.call(http.MethodGet, "/tables", nil, &answer)
	return answer.Tables, err
}

func (c *Control) send(path string, body any) (Sent, error) {
	var sent Sent
	err := c.call(http.MethodPost, path, body, &sent)
	return sent, err
}

func (c *Control) call(method, path string, body, answer any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, c.URL+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		message, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%s: %s", path, message)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
