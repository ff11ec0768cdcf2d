package orders

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"example.com/orders/ticdc"
)

const token = "for-these-tests-only"

// startContainer runs ticdc-emit serve in a container. Kafka has the same port inside and outside, because it tells
// clients its address.
func startContainer(ctx context.Context, t *testing.T, image string) (kafka string, control *ticdc.Control) {
	port := freePort(t)
	kafka = "127.0.0.1:" + port
	server, err := testcontainers.Run(ctx, image,
		testcontainers.WithExposedPorts(port+"/tcp", "8300/tcp"),
		testcontainers.WithHostConfigModifier(func(host *container.HostConfig) {
			host.PortBindings = network.PortMap{network.MustParsePort(port + "/tcp"): {{HostPort: port}}}
		}),
		testcontainers.WithFiles(testcontainers.ContainerFile{
			HostFilePath: "testdata/orders.sql", ContainerFilePath: "/data/schema.sql", FileMode: 0o644,
		}),
		testcontainers.WithEnv(map[string]string{"TICDC_EMIT_CONTROL_TOKEN": token}),
		testcontainers.WithCmd("serve", "--schema", "/data/schema.sql", "--enable-tidb-extension",
			"--host", "0.0.0.0", "--port", port, "--advertise", kafka, "--control", "0.0.0.0:8300"),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/ready").WithPort("8300/tcp")),
	)
	testcontainers.CleanupContainer(t, server)
	if err != nil {
		t.Fatal(err)
	}
	url, err := server.PortEndpoint(ctx, "8300/tcp", "http")
	if err != nil {
		t.Fatal(err)
	}
	return kafka, &ticdc.Control{URL: url, Token: token}
}

func freePort(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// Runs where Docker runs; the image is built from the Dockerfile of ticdc-emit.
func TestContainer(t *testing.T) {
	testcontainers.SkipIfProviderIsNotHealthy(t)
	kafka, control := startContainer(context.Background(), t, "ticdc-emit")
	reader := open(t, kafka, control)
	reader.read(control.SQL("INSERT INTO shop.orders VALUES (1, 'new', 10.50)"))
	reader.check("1")
}
