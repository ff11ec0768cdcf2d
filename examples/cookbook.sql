-- The tables that the consumers of the cookbook read: one with nearly every type, and orders with their lines.
create table shop.kinds (
  id bigint not null,
  tiny tinyint,
  count int unsigned,
  big bigint,
  huge bigint unsigned,
  flag bit(1),
  bits bit(12),
  price decimal(14,4),
  wide decimal(38,10),
  ratio float,
  mass double,
  name varchar(60),
  code char(6),
  body text,
  raw varbinary(20),
  day date,
  at datetime(6),
  seen timestamp(3),
  clock time(3),
  born year,
  state enum('new','paid','it''s'),
  tags set('a','b','c'),
  doc json,
  primary key (id)
);

create table shop.orders (
  id bigint not null,
  customer varchar(40) not null,
  total decimal(10,2),
  note text,
  placed datetime not null,
  primary key (id)
);

create table shop.lines (
  order_id bigint not null,
  sku varchar(20) not null,
  pieces int not null,
  primary key (order_id, sku)
);
