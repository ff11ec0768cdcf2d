-- A file in the style of pg_dump: ticdc-emit schema dump.sql --dialect postgres

SELECT pg_catalog.set_config('search_path', '', false);

CREATE TABLE city.stops (
    id integer NOT NULL,
    name text NOT NULL,
    place point,
    opened timestamp(0) without time zone DEFAULT now(),
    lines integer[] DEFAULT '{}'::integer[] NOT NULL
);

CREATE SEQUENCE city.stops_id_seq AS integer START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1;

ALTER TABLE ONLY city.stops ALTER COLUMN id SET DEFAULT nextval('city.stops_id_seq'::regclass);

COPY city.stops (id, name, place, opened, lines) FROM stdin;
1	Main Street	(7.44,46.95)	2024-05-25 05:09:30	{3,9}
\.

ALTER TABLE ONLY city.stops
    ADD CONSTRAINT stops_pkey PRIMARY KEY (id);
