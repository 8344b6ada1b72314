-- +goose Up
-- The same table as in ../mysql, whose comments hold here too.

CREATE TABLE tb_sale_setup (
    voucher_id  BIGINT   NOT NULL,
    begin_time  DATETIME NOT NULL,
    setup       TEXT     NOT NULL,
    create_time DATETIME NOT NULL,
    PRIMARY KEY (voucher_id, begin_time)
);
CREATE INDEX idx_setup_begin ON tb_sale_setup (begin_time);
