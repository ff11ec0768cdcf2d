// Package ticdcemit runs ticdc-emit serve in a container: a Kafka with the messages of TiCDC, a schema registry, and SQL
// from tests.
package ticdcemit

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

const (
	registryPort = "8081/tcp"
	controlPort  = "8300/tcp"
	schemaPath   = "/data/schema.sql"
)

// Container is a server that is ready for consumers and SQL.
type Container struct {
	testcontainers.Container
	Bootstrap string // host:port of Kafka
	Registry  string // URL of the schema registry
	Control   string // URL of the control API
	Token     string // its bearer token
}

// Run starts an image with the tables of a file of DDL, and more options of serve. Also after an error the container, if
// it is not nil, must be ended.
func Run(ctx context.Context, image, schema string, options ...string) (*Container, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	own := &Container{Bootstrap: "127.0.0.1:" + port, Token: rand.Text()}
	server, err := testcontainers.Run(ctx, image,
		testcontainers.WithExposedPorts(port+"/tcp", registryPort, controlPort),
		// the same port inside and outside, because a broker tells clients its address
		testcontainers.WithHostConfigModifier(func(host *container.HostConfig) {
			host.PortBindings = network.PortMap{network.MustParsePort(port + "/tcp"): {{HostPort: port}}}
		}),
		testcontainers.WithFiles(testcontainers.ContainerFile{
			HostFilePath: schema, ContainerFilePath: schemaPath, FileMode: 0o644,
		}),
		testcontainers.WithEnv(map[string]string{"TICDC_EMIT_CONTROL_TOKEN": own.Token}),
		testcontainers.WithCmd(command(port, schemaPath, options)...),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/ready").WithPort(controlPort)),
	)
	if server != nil {
		own.Container = server
	}
	if err != nil {
		return own, err
	}
	if own.Registry, err = server.PortEndpoint(ctx, registryPort, "http"); err != nil {
		return own, err
	}
	own.Control, err = server.PortEndpoint(ctx, controlPort, "http")
	return own, err
}

// SQL runs statements and returns how many rows were sent.
func (c *Container) SQL(ctx context.Context, script string) (rows int, err error) {
	body, err := json.Marshal(map[string]string{"sql": script})
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Control+"/sql", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		message, _ := io.ReadAll(response.Body)
		return 0, fmt.Errorf("/sql: %s", message)
	}
	var sent struct{ Rows int }
	err = json.NewDecoder(response.Body).Decode(&sent)
	return sent.Rows, err
}

func command(port, schema string, options []string) []string {
	serve := []string{"serve", "--schema", schema, "--host", "0.0.0.0", "--port", port,
		"--advertise", "127.0.0.1:" + port, "--registry-port", "8081", "--control", "0.0.0.0:8300"}
	return append(serve, options...)
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), nil
}
