create table orders (id int primary key auto_increment, customer varchar(20) not null, amount decimal(8,2));
insert into orders (customer, amount) values ('ann', 9.5), ('bob', 3);
update orders set amount = amount * 2 where customer = 'bob';
alter table orders add column paid tinyint(1) not null default 0;
begin;
update orders set paid = 1 where id = 1;
delete from orders where id = 2;
commit;
