package orders

import (
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/orders/ticdc"
)

var server *ticdc.Server // one for all tests: each resets it

func TestMain(m *testing.M) {
	var err error
	server, err = ticdc.Start("--schema", "testdata/orders.sql", "--enable-tidb-extension")
	if err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	server.Stop()
	os.Exit(code)
}

func TestKeyUpdatesDDLAndRedelivery(t *testing.T) {
	reader := open(t, server.Kafka, &server.Control)
	reader.read(server.SQL(`
		INSERT INTO shop.orders VALUES (1, 'new', 10.50), (2, 'new', 20);
		UPDATE shop.orders SET id = 3 WHERE id = 1;
		ALTER TABLE shop.orders ADD COLUMN note VARCHAR(20);
		INSERT INTO shop.orders VALUES (4, 'new', 7.25, 'gift');
		UPDATE shop.orders SET state = 'paid' WHERE id = 2;
	`))
	reader.check("2", "3", "4")
	reader.read(server.Redeliver(6)) // TiCDC delivers at least once
	reader.check("2", "3", "4")
	reader.read(server.Restart(3)) // as after a crash: the last three transactions again
	reader.check("2", "3", "4")
}

func TestEachBeginsWithEmptyTables(t *testing.T) {
	for id := 1; id <= 50; id++ {
		t.Run(fmt.Sprint(id), func(t *testing.T) {
			reader := open(t, server.Kafka, &server.Control)
			reader.read(server.SQL(fmt.Sprintf("INSERT INTO shop.orders VALUES (%d, 'new', 1)", id)))
			reader.check(fmt.Sprint(id))
		})
	}
}

// reader feeds the consumer under test from where the test begins.
type reader struct {
	*testing.T
	control *ticdc.Control
	kafka   *kgo.Client
	next    map[int32]int64
	table   *Table
}

func open(t *testing.T, kafka string, control *ticdc.Control) *reader {
	reset, err := control.Reset()
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t, control, nil, map[int32]int64{}, NewTable()}
	begin := map[int32]kgo.Offset{}
	for _, each := range reset.Partitions {
		if each.Topic == "shop_orders" {
			r.next[each.Partition] = each.EndOffset
			begin[each.Partition] = kgo.NewOffset().At(each.EndOffset)
		}
	}
	r.kafka, err = kgo.NewClient(kgo.SeedBrokers(kafka),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"shop_orders": begin}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kafka.Close)
	return r
}

// read polls until the consumer has all messages of a call.
func (r *reader) read(sent ticdc.Sent, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, each := range sent.Partitions {
		for each.Topic == "shop_orders" && r.next[each.Partition] < each.EndOffset {
			fetches := r.kafka.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				r.Fatal(err)
			}
			fetches.EachRecord(func(record *kgo.Record) {
				if err := r.table.Apply(record.Value); err != nil {
					r.Fatal(err)
				}
				r.next[record.Partition] = record.Offset + 1
			})
		}
	}
}

// check compares the consumer's rows with those that TiDB has: those with these ids.
func (r *reader) check(ids ...string) {
	r.Helper()
	tables, err := r.control.Tables()
	if err != nil {
		r.Fatal(err)
	}
	expected := map[string]Row{}
	for _, row := range tables["shop.orders"] {
		expected[*row["id"]] = row
	}
	rows := r.table.Rows()
	if !reflect.DeepEqual(rows, expected) {
		r.Errorf("the consumer has other rows than TiDB:\n%v\n%v", rows, expected)
	}
	if found := slices.Sorted(maps.Keys(rows)); !slices.Equal(found, ids) {
		r.Errorf("the consumer has the ids %v instead of %v", found, ids)
	}
}
