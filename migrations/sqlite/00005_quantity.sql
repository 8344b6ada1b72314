-- +goose Up
-- The same changes as in ../mysql, whose comments hold here too. Applied in one transaction.

ALTER TABLE tb_voucher ADD COLUMN per_user TINYINT NOT NULL DEFAULT 0;
ALTER TABLE tb_voucher_order ADD COLUMN quantity TINYINT NOT NULL DEFAULT 1;
