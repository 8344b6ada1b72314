-- +goose Up
-- The same column as in ../mysql, whose comments hold here too.
ALTER TABLE tb_voucher ADD COLUMN picture VARCHAR(512) NULL;
