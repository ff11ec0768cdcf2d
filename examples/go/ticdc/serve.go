package ticdc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Server is ticdc-emit serve as a child process.
type Server struct {
	Control
	Kafka   string // host:port
	input   io.Closer
	command *exec.Cmd
}

// Start returns when the server is ready. The variable TICDC_EMIT names another command than ticdc-emit.
func Start(options ...string) (*Server, error) {
	name := os.Getenv("TICDC_EMIT")
	if name == "" {
		name = "ticdc-emit"
	}
	serve := []string{"serve", "--json", "--until-stdin-ends",
		"--port", "0", "--registry-port", "0", "--control", "127.0.0.1:0"}
	command := exec.Command(name, append(serve, options...)...)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%s ended: %w", command, command.Wait())
	}
	var settings struct{ Control, Bootstrap string }
	if err := json.Unmarshal(line, &settings); err != nil {
		return nil, err
	}
	return &Server{Control{URL: settings.Control}, settings.Bootstrap, input, command}, nil
}

// Stop ends the process and returns when it is gone. It also ends by itself when the tests are killed.
func (s *Server) Stop() error {
	s.input.Close()
	return s.command.Wait()
}
