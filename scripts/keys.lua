-- Prelude of scripts that must not fail because somebody wrote to their keys by hand.

-- remove_unless removes a key whose type is not the wanted one.
local function remove_unless(wanted, key)
  local kind = redis.call('TYPE', key).ok
  if kind ~= wanted and kind ~= 'none' then
    redis.call('UNLINK', key)
  end
end
