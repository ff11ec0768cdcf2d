package ticdcemit

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
)

const insert = "INSERT INTO shop.orders VALUES (1, 'new', 10.50)"

func check(t *testing.T, ticdc *Container) {
	t.Helper()
	rows, err := ticdc.SQL(context.Background(), insert)
	if err != nil || rows != 1 {
		t.Fatalf("%d rows were sent: %v", rows, err)
	}
}

func TestContainer(t *testing.T) {
	testcontainers.SkipIfProviderIsNotHealthy(t)
	ticdc, err := Run(context.Background(), "ticdc-emit", "testdata/orders.sql")
	if ticdc != nil {
		testcontainers.CleanupContainer(t, ticdc.Container)
	}
	if err != nil {
		t.Fatal(err)
	}
	check(t, ticdc)
}

// Without Docker: the command of the container, as a process.
func TestCommand(t *testing.T) {
	name := os.Getenv("TICDC_EMIT")
	if name == "" {
		name = "ticdc-emit"
	}
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	ready := filepath.Join(t.TempDir(), "ready.json")
	ticdc := &Container{Control: "http://127.0.0.1:8300", Token: "for-this-test-only"}
	server := exec.Command(name, command(port, "testdata/orders.sql", []string{"--ready-file", ready})...)
	server.Env = append(os.Environ(), "TICDC_EMIT_CONTROL_TOKEN="+ticdc.Token)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("serve is not ready after a minute")
		}
	}
	check(t, ticdc)
}
